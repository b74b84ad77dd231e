/** What a check found: nothing, or what is wrong and what to do. */
export type Problem = string | undefined;

/** The text in SECURITY.md where the maintainers put their address. */
const NO_CONTACT = "SECURITY-CONTACT-NOT-SET";

/** Bytes. */
const MAX_TARBALL = 875_000;

/** The version must be one that npm takes, and must have a dated section at the top of the changelog. */
export function changelogProblem(changelog: string, version: string): Problem {
  if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version)) return `${version} is not a version`;
  const [, named = "", note = ""] = /^## (\S+)(?: \(([^)]*)\))?$/m.exec(changelog) ?? [];
  if (named !== version) {
    return `the newest section of CHANGELOG.md is ${named}, and package.json has ${version}: write the section`;
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(note)) {
    return `CHANGELOG.md says "${version} (${note})": put the date of the release there`;
  }
  return undefined;
}

/** Someone who finds a vulnerability must know where to write. */
export function contactProblem(security: string): Problem {
  return security.includes(NO_CONTACT)
    ? `SECURITY.md has no address: replace ${NO_CONTACT}, the only place`
    : undefined;
}

/** Messages lead to pages below the homepage. npm itself proposes the README of the repository, which has none. */
export function homepageProblem(homepage: string | undefined): Problem {
  if (homepage === undefined || /^https:\/\/[^?#]+$/.test(homepage)) return undefined;
  return `homepage is ${homepage}: set the https address of the site that npm run docs:build makes, or remove it`;
}

/** The tarball as `npm pack --json` describes it. */
export interface Tarball {
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** The tarball is small, has what `exports` names, and nothing that does not belong there. */
export function tarballProblem({ size, files }: Tarball, exported: readonly string[]): Problem {
  const paths = new Set(files.map((file) => file.path));
  const missing = exported.filter((file) => !paths.has(file.replace(/^\.\//, "")));
  if (missing.length > 0) return `the tarball lacks ${missing.join(", ")}: run npm run build`;
  const stray = [...paths].filter((file) => STRAY.test(file) && !ALLOWED.test(file));
  if (stray.length > 0) return `the tarball has ${stray.join(", ")}: leave it out of "files"`;
  if (size > MAX_TARBALL) {
    return `the tarball has ${String(size)} bytes, and at most ${String(MAX_TARBALL)} are allowed`;
  }
  return undefined;
}

const STRAY = /(?:^|\/)(?:\.|node_modules\/|test\/|coverage\/|reports\/)|\.ts$|\.map$|\.tgz$|\.env/;
const ALLOWED = /\.d\.ts$|^examples\/[^/]+\.ts$/;

/** Every file that `exports`, `main`, `types` and `bin` of a package.json name. */
export function exportedFiles(value: unknown): readonly string[] {
  if (typeof value === "string")
    return value.startsWith("./") && !value.includes("*") ? [value] : [];
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap(exportedFiles)
    : [];
}

/** The bill of materials must name what a user installs. */
export function sbomProblem(sbom: string, dependencies: readonly string[]): Problem {
  const { components = [] } = JSON.parse(sbom) as { components?: readonly { name: string }[] };
  const names = new Set(components.map(({ name }) => name));
  const missing = dependencies.filter((name) => !names.has(name));
  return missing.length === 0 ? undefined : `the bill of materials lacks ${missing.join(", ")}`;
}
