import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isPromise, LooseleafError, type Storable } from '@looseleaf/core'
import type { Unstorable } from './unstorable.ts'

/** Any schema of zod, valibot, arktype or another library that speaks Standard Schema. */
export type Schema<In = unknown, Out = unknown> = StandardSchemaV1<In, Out>

export type SchemaInput<S extends Schema> = StandardSchemaV1.InferInput<S>
export type SchemaOutput<S extends Schema> = StandardSchemaV1.InferOutput<S>

/** What a kind cannot take of a schema, said as a type: the compiler shows the text beside the schema. */
export type Fitting<S extends Schema> =
  SchemaOutput<S> extends { id: unknown }
    ? 'The name "id" is kept for the id of the entity'
    : SchemaOutput<S> extends { version: unknown }
      ? 'The name "version" is kept for the version of the entity'
      : SchemaOutput<S> extends SchemaInput<S>
        ? SchemaOutput<S> extends object
          ? SchemaOutput<S> extends Storable<SchemaOutput<S>>
            ? S
            : [Unstorable<SchemaOutput<S>>] extends [never]
              ? 'The schema gives what cannot be stored'
              : Unstorable<SchemaOutput<S>>
          : 'The schema has to give an object'
        : 'The schema has to accept what it gives: an update checks the whole entity again'

/**
 * A schema for a type alone, with nothing to check at run time: `schema: typed<Issue>()`. Every property of what is stored is
 * known to it.
 */
export function typed<T extends object>(): Schema<T, T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'looseleaf',
      validate: (value) => ({ value: value as T }),
    },
  }
}

/** Returns the output of the schema. Throws `SCHEMA_MISMATCH` with the issues, and `BAD_OPTION` for a schema that is async. */
export function validated(schema: Schema, value: unknown, named: string, entity?: string): object {
  return outputOf(schema, value, named, `${named} does not fit its schema`, entity)
}

/**
 * Returns the output of the schema for its own output, which every update is checked with. Throws `SCHEMA_MISMATCH` where the schema
 * refuses it, as one that makes numbers of texts does.
 */
export function validatedAgain(schema: Schema, output: object, named: string, entity?: string): object {
  const failure = `${named} is not written: its schema refuses its own output, and so would every later update`
  return outputOf(schema, output, named, failure, entity)
}

function outputOf(
  schema: Schema,
  value: unknown,
  named: string,
  failure: string,
  entity: string | undefined,
): object {
  const result = schema['~standard'].validate(value)
  if (isPromise(result)) {
    result.catch(() => {})
    throw new LooseleafError(
      'BAD_OPTION',
      `${named} was not checked: its schema gave a promise, so it is asynchronous, or something in it throws. It has to answer at once.`,
    )
  }
  if (result.issues !== undefined) throw mismatch(failure, result.issues, entity)
  if (typeof result.value === 'object' && result.value !== null) return result.value
  throw new LooseleafError('BAD_OPTION', `${named} was not checked: its schema has to give an object.`)
}

/** Returns the output of the schema, or undefined where the value does not fit. Never throws. */
export function validatedIfFit(schema: Schema, value: unknown): object | undefined {
  try {
    return validated(schema, value, '')
  } catch {
    return undefined
  }
}

function mismatch(
  failure: string,
  given: readonly StandardSchemaV1.Issue[],
  entity: string | undefined,
): LooseleafError {
  const issues = given.map(({ message, path }) => ({
    message,
    path: (path ?? []).map((step) => (typeof step === 'object' ? step.key : step)),
  }))
  const [first] = issues
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : ''
  return new LooseleafError(
    'SCHEMA_MISMATCH',
    `${failure}: ${first?.path.map(String).join('.') || 'the whole'}: ${first?.message}${more}.`,
    { issues, entity },
  )
}
