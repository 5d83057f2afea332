import type { EntityId } from '@looseleaf/core'
import type { IndexDefinition } from '@looseleaf/index-engine'

/**
 * Warns of entities that are read with a default, or a value of an upgrade, by which an index of the kind finds others: an index has the
 * stored values, so a query by the new value misses such an entity until it is written, and a unique index lets a second one in. Once for each property of a process, by `process.emitWarning`.
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
        `Entities of kind ${kind}, such as ${entity}, are stored without the value of "${name}" that they are read with, which a default or an upgrade gives. Index ${missing.map((index) => index.name).join(', ')} does not have it. To do: run \`looseleaf kind upgrade ${kind}\`, or upgradeKinds(store, [kind]).`,
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
