import { describeLanguage } from "./describe-language.js";

describeLanguage("PHP");
