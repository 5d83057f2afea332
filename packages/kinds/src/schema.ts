import type { StandardSchemaV1 } from '@standard-schema/spec'
import { LooseleafError, type Storable, isPromise } from '@looseleaf/core'

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
            : 'The schema gives what cannot be stored'
          : 'The schema has to give an object'
        : 'The schema has to accept what it gives: an update checks what is stored once more'

/**
 * A schema for a type alone, with nothing to check at run time: `schema: typed<Issue>()`. Every property of what is stored is
 * known to it.
 */
export function typed<T extends object>(): Schema<T, T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'looseleaf',
      // Whoever asks for no check vouches for the type.
      validate: (value) => ({ value: value as T }),
    },
  }
}

/** What the schema makes of a value. Throws `SCHEMA_MISMATCH` with the issues, and `BAD_OPTION` for a schema that is async. */
export function validated(schema: Schema, value: unknown, what: string, entity?: string): object {
  const result = schema['~standard'].validate(value)
  if (isPromise(result)) {
    result.catch(() => {})
    throw new LooseleafError(
      'BAD_OPTION',
      `${what} was not checked: its schema gave a promise, so it is asynchronous, or something in it throws. It has to answer at once.`,
    )
  }
  if (result.issues === undefined) {
    if (typeof result.value === 'object' && result.value !== null) return result.value
    throw new LooseleafError('BAD_OPTION', `${what} was not checked: its schema has to give an object.`)
  }
  const issues = result.issues.map(({ message, path }) => ({
    message,
    path: (path ?? []).map((step) => (typeof step === 'object' ? step.key : step)),
  }))
  const [first] = issues
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : ''
  throw new LooseleafError(
    'SCHEMA_MISMATCH',
    `${what} does not fit its schema: ${first?.path.map(String).join('.') || 'the whole'}: ${first?.message}${more}.`,
    { issues, entity },
  )
}
