import { isRecord } from '@looseleaf/core/internal'
import type { Schema } from './schema.ts'

/**
 * Returns a function that tells whether a property may be absent or null. It works for schemas that describe themselves by Standard JSON
 * Schema, such as those of zod; for any other schema it returns false. The rules are those of the type `MayBeAbsent`: a variant of a
 * union that lacks the property, or allows only null, does not count, and neither does an element of an array.
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
    // JSON has no dates and no bigints. With this option zod describes them as any value, instead of throwing.
    const described: unknown = output({
      target: 'draft-2020-12',
      libraryOptions: { unrepresentable: 'any' },
    })
    return isRecord(described) ? described : undefined
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

/** Returns the alternatives of a node, each with one type. */
function variantsOf(root: JsonSchema, node: unknown, depth = 0): JsonSchema[] {
  // A reference that leads back to itself has no alternatives.
  if (!isRecord(node) || depth > MAX_DEPTH) return []
  const ref = node['$ref']
  if (typeof ref === 'string') return variantsOf(root, resolveRef(root, ref), depth + 1)
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => (Array.isArray(node[name]) ? node[name] : []))
  if (parts.length > 0) return parts.flatMap((part: unknown) => variantsOf(root, part, depth + 1))
  const { type } = node
  return Array.isArray(type) ? type.map((each: unknown) => ({ ...node, type: each })) : [node]
}

const MAX_DEPTH = 20

/** Resolves `#` or `#/$defs/name`. */
function resolveRef(root: JsonSchema, ref: string): unknown {
  return ref
    .split('/')
    .slice(1)
    .reduce<unknown>((node, step) => (isRecord(node) ? node[step] : undefined), root)
}

function allowsNull({ type, enum: values, const: constant }: JsonSchema): boolean {
  return type === 'null' || constant === null || (Array.isArray(values) && values.includes(null))
}

function isNull(value: JsonSchema): boolean {
  const { enum: values } = value
  return allowsNull(value) && !(Array.isArray(values) && values.length > 1)
}
