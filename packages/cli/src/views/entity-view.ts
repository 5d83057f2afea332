import { jsonFormat } from '@looseleaf/codec'
import { metaOf, type Bag, type Entity, type PropertyValue } from '@looseleaf/core'
import { isDate, isBytes } from '@looseleaf/core/internal'
import type { Output } from '../output/output.ts'
import { clip } from '../output/text.ts'

export function entityLine(entity: Entity): string {
  return Buffer.from(jsonFormat.encode(entity)).toString()
}

export function entityJson(entity: Entity): Record<'id' | 'version' | 'updated' | 'properties', unknown> {
  const { id, ...properties } = entity
  const meta = metaOf(entity)
  return {
    id,
    version: meta?.version ?? 0,
    updated: meta?.updated.toISOString() ?? '',
    properties: JSON.parse(entityLine(properties as Entity), keepNumberText) as unknown,
  }
}

/** Makes a value that `JSON.stringify` writes as this text. Node has it since 21; the type declaration lacks it. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/** Keeps the text of each number: an exponent marks a number that `import` must not read as an exact integer. */
function keepNumberText(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? rawJSON(context?.source ?? String(value)) : value
}

export function valueText(value: PropertyValue | undefined): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  if (value === null || typeof value !== 'object') return String(value)
  if (isDate(value)) return value.toISOString()
  if (isBytes(value)) return `<${value.length} bytes>`
  return Array.isArray(value) ? `[${value.map(nestedText).join(', ')}]` : bagText(value as Bag)
}

/** Returns the properties for people, on one line, without the given names. */
export function bagText(bag: Bag, without: readonly string[] = []): string {
  const properties = Object.entries(bag).filter(
    ([name, value]) => value !== undefined && !without.includes(name),
  )
  return `{ ${properties.map(([name, value]) => `${name}: ${nestedText(value)}`).join(', ')} }`
}

function nestedText(value: PropertyValue | undefined): string {
  return typeof value === 'string' ? JSON.stringify(value) : valueText(value)
}

/** Returns an entity for people: its id, version and time, and one line per property. */
export function entityText(output: Output, entity: Entity): string {
  const { colors } = output
  const { id, ...properties } = entity
  const meta = metaOf(entity)
  const names = Object.keys(properties)
  const nameWidth = Math.min(30, Math.max(0, ...names.map((name) => name.length)))
  const rows = names.map((name) => [
    `  ${colors.cyan(name)}`,
    clip(valueText(entity[name]), Math.max(40, output.width - nameWidth - 6)),
  ])
  const head = `${colors.bold(id)}  ${colors.dim(`version ${meta?.version}, ${meta?.updated.toISOString()}`)}`
  return rows.length === 0 ? head : `${head}\n${output.table([], rows)}`
}
