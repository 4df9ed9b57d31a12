/** The Node 24 of the functions when its package is installed, else the Node that runs this. */
export function functionNode(): string;
