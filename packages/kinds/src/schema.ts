import type { StandardSchemaV1 } from '@standard-schema/spec'
import { LooseleafError, type Storable } from '@looseleaf/core'
import { badOption, describeKind, isDate, isPromise } from '@looseleaf/core/internal'
import type { Unstorable } from './unstorable.ts'

/** A schema of zod, valibot, arktype or another library that implements Standard Schema. */
export type Schema<In = unknown, Out = unknown> = StandardSchemaV1<In, Out>

export type SchemaInput<S extends Schema> = StandardSchemaV1.InferInput<S>
export type SchemaOutput<S extends Schema> = StandardSchemaV1.InferOutput<S>

/** Accepts a schema that a kind can use; otherwise the reason as a text type, which the compiler shows. */
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

/** Returns a schema that only has a type and checks nothing at run time: `schema: typed<Issue>()`. It knows every stored property. */
export function typed<T extends object>(): Schema<T, T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'looseleaf',
      validate: (value) => ({ value: value as T }),
    },
  }
}

/**
 * Returns the output of the schema. Throws `SCHEMA_MISMATCH` with the issues, and `BAD_OPTION` for an asynchronous schema. `subject` names
 * the value in messages.
 */
export function validated(schema: Schema, value: unknown, subject: string, entity?: string): object {
  return outputOf(schema, value, subject, `${subject} does not fit its schema`, entity)
}

/**
 * Returns the output of the schema for its own output, because every update checks the whole entity again. Throws `SCHEMA_MISMATCH` if
 * the schema refuses it, for example one that turns texts into numbers.
 */
export function validatedAgain(schema: Schema, output: object, subject: string, entity?: string): object {
  const failure = `${subject} is not written: its schema refuses its own output, and so would every later update`
  return outputOf(schema, output, subject, failure, entity)
}

function outputOf(
  schema: Schema,
  value: unknown,
  subject: string,
  failure: string,
  entity: string | undefined,
): object {
  const result = schema['~standard'].validate(value)
  if (isPromise(result)) {
    result.catch(() => {})
    throw badOption(
      `${subject} was not checked: its schema returned a promise, so it is asynchronous, or something in it throws. It has to be synchronous.`,
    )
  }
  if (result.issues !== undefined) throw mismatch(failure, result.issues, value, entity)
  if (typeof result.value === 'object' && result.value !== null) return result.value
  throw badOption(`${subject} was not checked: its schema has to return an object.`)
}

/** Returns the output of the schema; undefined if the value does not fit. Never throws. */
export function validatedIfFit(schema: Schema, value: unknown): object | undefined {
  try {
    return validated(schema, value, '')
  } catch {
    return undefined
  }
}

function mismatch(
  failure: string,
  schemaIssues: readonly StandardSchemaV1.Issue[],
  value: unknown,
  entity: string | undefined,
): LooseleafError {
  const issues = schemaIssues.map(({ message, path: steps = [] }) => {
    const path = steps.map((step) => (typeof step === 'object' ? step.key : step))
    return { message: describedBy(message, valueAt(value, path)), path }
  })
  const shown = issues
    .slice(0, MAX_SHOWN)
    .map(({ message, path }) => `${path.map(String).join('.') || 'the whole'}: ${message}`)
  const more = issues.length > MAX_SHOWN ? ` (and ${issues.length - MAX_SHOWN} more)` : ''
  return new LooseleafError('SCHEMA_MISMATCH', `${failure}: ${shown.join('; ')}${more}.`, { issues, entity })
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value
  for (const step of path) current = (current as Record<PropertyKey, unknown> | null | undefined)?.[step]
  return current
}

/** Returns the message for a refused value. Zod says of an invalid date that a date was expected, and a date received. */
function describedBy(message: string, value: unknown): string {
  if (!isDate(value) || !Number.isNaN(value.getTime()) || /invalid date/i.test(message))
    return withoutValue(message, value)
  return `${message} (${describeKind(value)})`
}

/** Removes the refused value from a message, because values must not get into logs. Valibot and arktype quote it. */
function withoutValue(message: string, value: unknown): string {
  if (typeof value === 'string') {
    const quoted = message.replaceAll(JSON.stringify(value), '…').replaceAll(`'${value}'`, '…')
    return value.length < LONG_VALUE ? quoted : quoted.replaceAll(value, '…')
  }
  const isNumber = typeof value === 'bigint' || Number.isFinite(value)
  // NaN and infinities tell nothing of a stored value.
  if (!isNumber) return message
  const digits = String(value).replaceAll(/[.+]/g, '\\$&')
  return message.replaceAll(new RegExp(`(?<![\\w.])${digits}(?!\\w|\\.\\d)`, 'g'), '…')
}

/** Issues in a message; the error has all of them. */
const MAX_SHOWN = 10

/** Shorter values are only removed in quotes, because they may be part of any word. */
const LONG_VALUE = 4
