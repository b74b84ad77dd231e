// npm run docs:picture: writes docs/doctor.svg anew from the built command line.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { doctorPicture } from "./terminal/doctor-picture.js";

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

await writeFile(fileOf("doctor.svg"), await doctorPicture(fileOf("../dist/cli.js")));
