import type { EntityId } from '@looseleaf/core'
import type { IndexDefinition } from '@looseleaf/index-engine'

/**
 * Warns of entities that are read with a default by which an index of the kind finds others: an index has the stored values, so a
 * query by the default misses such an entity until it is written. Once for each property of a process, by `process.emitWarning`.
 */
export function createFillWarning(
  kind: string,
  indexes: () => readonly IndexDefinition[],
): (entity: EntityId, names: ReadonlySet<string>) => void {
  const met = new Set<string>()
  return (entity, names) => {
    for (const name of names) {
      if (met.has(name)) continue
      met.add(name)
      const missing = indexes().filter((index) => pathsOf(index).some((path) => isWithin(path, name)))
      if (missing.length === 0) continue
      process.emitWarning(
        `Entities of kind ${kind}, such as ${entity}, are stored without "${name}". They are read with the default of the schema, but index ${missing.map((index) => index.name).join(', ')} does not have it. To do: run \`looseleaf kind upgrade ${kind}\`, or upgradeKinds(store, [kind]).`,
        'LooseleafWarning',
      )
    }
  }
}

const pathsOf = ({ properties, include = [] }: IndexDefinition): readonly string[] => [
  ...properties.map(({ name, of = name }) => of),
  ...include,
]

const isWithin = (path: string, name: string): boolean => path === name || path.startsWith(`${name}.`)
