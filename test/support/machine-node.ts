/**
 * The Node of this machine, on which users run the commands of this project. The tests themselves run on the Node of
 * the functions (`infra/run.mjs`).
 */
export const machineNode = process.env["MACHINE_NODE"] ?? process.execPath;
