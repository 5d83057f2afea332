import { isRecord } from '@looseleaf/core'
import type { Schema } from './schema.ts'

/**
 * Tells whether a property may be absent or null, as far as the schema describes itself: by Standard JSON Schema, which zod has. False
 * where the schema does not tell. The rules are those of `MayBeAbsent`, which the compiler goes by: a variant of a union that
 * lacks the property, or has null alone, does not count, and neither does anything in an array.
 */
export function absenceBySchema(schema: Schema): (path: string) => boolean {
  const root = jsonSchemaOf(schema)
  return (path) => root !== undefined && mayBeAbsent(root, root, path.split('.'))
}

type JsonSchema = Readonly<Record<string, unknown>>

function jsonSchemaOf(schema: Schema): JsonSchema | undefined {
  const { jsonSchema } = schema['~standard'] as { readonly jsonSchema?: unknown }
  const output: unknown = isRecord(jsonSchema) ? jsonSchema['output'] : undefined
  if (typeof output !== 'function') return undefined
  try {
    // JSON has no dates and no bigints; zod is to say nothing of those instead of failing.
    const made: unknown = output({
      target: 'draft-2020-12',
      libraryOptions: { unrepresentable: 'any' },
    })
    return isRecord(made) ? made : undefined
  } catch {
    return undefined
  }
}

function mayBeAbsent(root: JsonSchema, node: unknown, [head, ...rest]: readonly string[]): boolean {
  if (head === undefined) return false
  return variantsOf(root, node).some((variant) => {
    const { properties, required } = variant
    if (!isRecord(properties) || !Object.hasOwn(properties, head)) return false
    const values = variantsOf(root, properties[head])
    if (values.every(isNull)) return false
    if (values.some(allowsNull)) return true
    if (!Array.isArray(required) || !required.includes(head)) return true
    return values.some((value) => mayBeAbsent(root, value, rest))
  })
}

/** The alternatives of a node, one type each. */
function variantsOf(root: JsonSchema, node: unknown, depth = 0): JsonSchema[] {
  // A type that refers to itself at once says nothing.
  if (!isRecord(node) || depth > MAX_DEPTH) return []
  const ref = node['$ref']
  if (typeof ref === 'string') return variantsOf(root, resolved(root, ref), depth + 1)
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => (Array.isArray(node[name]) ? node[name] : []))
  if (parts.length > 0) return parts.flatMap((part: unknown) => variantsOf(root, part, depth + 1))
  const { type } = node
  return Array.isArray(type) ? type.map((one: unknown) => ({ ...node, type: one })) : [node]
}

const MAX_DEPTH = 20

/** `#`, or `#/$defs/name`. */
function resolved(root: JsonSchema, ref: string): unknown {
  return ref
    .split('/')
    .slice(1)
    .reduce<unknown>((node, step) => (isRecord(node) ? node[step] : undefined), root)
}

function allowsNull({ type, enum: words, const: word }: JsonSchema): boolean {
  return type === 'null' || word === null || (Array.isArray(words) && words.includes(null))
}

function isNull(value: JsonSchema): boolean {
  const { enum: words } = value
  return allowsNull(value) && !(Array.isArray(words) && words.length > 1)
}
