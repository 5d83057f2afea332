import { isLooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import { isDate, isPlainObject, type ColumnType, type IndexedProperty } from '@looseleaf/core/internal'
import { definitionFromData } from '../definitions/define-index.ts'
import { propertySpec } from '../definitions/parse-property.ts'

/** JavaScript types whose column type has the same name. */
const TYPES = ['string', 'number', 'boolean'] as const satisfies ColumnType[]

/**
 * Returns a sentence, without its full stop, that names the properties of an index which would serve a `where`: the properties with a
 * value or a list first, then the one with a range. A property takes its type from this index, or else from its value. Undefined if a
 * value does not tell its type, or if no index could serve the `where`, which is checked by `parse`.
 */
export function servingIndexText(
  index: IndexDefinitionData,
  where: Readonly<Record<string, unknown>>,
  parse: (index: IndexDefinitionData, where: object) => unknown,
): string | undefined {
  const names = Object.keys(where).toSorted((a, b) => Number(isRange(where[a])) - Number(isRange(where[b])))
  const properties: IndexedProperty[] = []
  for (const name of names) {
    const property = index.properties.find((each) => each.name === name) ?? propertyFor(name, where[name])
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

/** Guesses the type of a property by the first value of its condition; `parse` checks the others. */
function propertyFor(name: string, condition: unknown): IndexedProperty | undefined {
  const [value] = isPlainObject(condition) ? Object.values(condition) : [condition]
  const type = typeOf(Array.isArray(value) ? value[0] : value)
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
