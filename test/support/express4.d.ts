/** Express 4, installed beside Express 5 under another name. What the tests use of it is typed alike. */
declare module "express4" {
  import express from "express";
  export default express;
}
