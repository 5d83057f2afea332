import { isRecord } from '@looseleaf/core/internal'
import { jsonSchemaOf, variantsOf, type JsonSchema } from './json-schema.ts'
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

function allowsNull({ type, enum: values, const: constant }: JsonSchema): boolean {
  return type === 'null' || constant === null || (Array.isArray(values) && values.includes(null))
}

function isNull(value: JsonSchema): boolean {
  const { enum: values } = value
  return allowsNull(value) && !(Array.isArray(values) && values.length > 1)
}
