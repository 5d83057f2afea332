import { isRecord } from '@looseleaf/core/internal'
import type { Schema } from './schema.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/** Returns the description of a schema's output by Standard JSON Schema, which zod has; undefined for any other schema. */
export function jsonSchemaOf(schema: Schema): JsonSchema | undefined {
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

/** Returns the alternatives of a node, each with one type. */
export function variantsOf(root: JsonSchema, node: unknown, depth = 0): JsonSchema[] {
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
