export * from "./generated/index.js";
export * from "./session.js";
export * from "./snapshots.js";
export * from "./effective-values.js";
