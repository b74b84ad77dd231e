import { describeLanguage } from "./describe-language.js";

describeLanguage("Perl");
