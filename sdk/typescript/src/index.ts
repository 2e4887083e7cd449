export * from "./generated/index.js";
export * from "./session.js";
