import { marshallInput, unmarshallOutput } from "./document-values.ts";

type Data = Record<string, unknown>;
type Places = Parameters<typeof marshallInput>[1];

interface Translating {
  readonly translateConfig?: { readonly marshallOptions?: object; readonly unmarshallOptions?: object };
}

/** Takes the place of the command that puts two middlewares around another one: it converts the values itself. */
export abstract class DynamoDBDocumentClientCommand {
  abstract readonly input: Data;
  abstract readonly inputKeyNodes: Places;
  abstract readonly outputKeyNodes: Places;

  /** The input with its values as attribute values. */
  marshalled({ translateConfig = {} }: Translating): unknown {
    const options = { convertTopLevelContainer: true, ...translateConfig.marshallOptions };
    return marshallInput(this.input, this.inputKeyNodes, options);
  }

  /** The output with its attribute values as values of the program. */
  unmarshalled(output: Data, { translateConfig = {} }: Translating): unknown {
    const options = { convertWithoutMapWrapper: true, ...translateConfig.unmarshallOptions };
    return unmarshallOutput(output, this.outputKeyNodes, options);
  }
}
