import {
  isLooseleafError,
  type ColumnType,
  type IndexDefinitionData,
  type IndexedProperty,
  isDate,
  isPlainObject,
} from '@looseleaf/core'
import { definitionFromData } from './define-index.ts'
import { propertySpec } from './parse-property.ts'

/** Values of these types are of columns that are called alike. */
const TYPES = ['string', 'number', 'boolean'] as const satisfies ColumnType[]

/**
 * A sentence about the properties of an index that would serve this `where`: those with a value or a list first, then the one
 * with a range. Their types are those of this index, else what the values are. Without its full stop. Undefined where no index would serve it, by what
 * `parse` says of it, or where the values do not tell their type.
 */
export function servingIndexText(
  index: IndexDefinitionData,
  where: Readonly<Record<string, unknown>>,
  parse: (index: IndexDefinitionData, where: object) => unknown,
): string | undefined {
  const names = Object.keys(where).toSorted((a, b) => Number(isRange(where[a])) - Number(isRange(where[b])))
  const properties: IndexedProperty[] = []
  for (const name of names) {
    const property = index.properties.find((own) => own.name === name) ?? propertyFor(name, where[name])
    if (property === undefined) return undefined
    properties.push(property)
  }
  try {
    parse(definitionFromData({ name: index.name, properties, shardOn: 'id', onMisfit: 'skip' }), where)
  } catch (error) {
    if (isLooseleafError(error)) return undefined
    throw error
  }
  const specs = properties.map(
    (property) => `${nameText(property.name)}: ${specText(propertySpec(property))}`,
  )
  return `An index with properties { ${specs.join(', ')} } would serve it`
}

/** By the first value: whether the others are of its kind is for `parse` to say. */
function propertyFor(name: string, condition: unknown): IndexedProperty | undefined {
  const [given] = isPlainObject(condition) ? Object.values(condition) : [condition]
  const type = typeOf(Array.isArray(given) ? given[0] : given)
  return type && { name, type, many: false }
}

function typeOf(value: unknown): ColumnType | undefined {
  if (isDate(value)) return 'time'
  if (typeof value === 'bigint') return 'integer'
  return TYPES.find((type) => type === typeof value)
}

function isRange(condition: unknown): boolean {
  return isPlainObject(condition) && !Object.hasOwn(condition, 'in')
}

function specText(spec: ReturnType<typeof propertySpec>): string {
  if (typeof spec === 'string') return `'${spec}'`
  return `{ ${Object.entries(spec)
    .map(([option, value]) => `${option}: '${String(value)}'`)
    .join(', ')} }`
}

function nameText(name: string): string {
  return /^[a-z_$][\w$]*$/i.test(name) ? name : JSON.stringify(name)
}
