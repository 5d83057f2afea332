import type { EntityId } from '@looseleaf/core'
import type { IndexDefinition } from '@looseleaf/index-engine'

/**
 * Creates a warning for entities that are read with values which are not stored, from defaults or upgrades, if an index of the kind has
 * the property. The index has the stored values only: a query by the new value misses such an entity until it is written, and a unique
 * index accepts a second entity with its key. Warns once per property and process, by `process.emitWarning`.
 */
export function createFillWarning(
  kind: string,
  indexes: () => readonly IndexDefinition[],
): (entity: EntityId, names: ReadonlySet<string>) => void {
  /** Indexed paths, and the paths of their outer objects, without a warning yet. Bounded, unlike the names of bags, which may be keys of records. */
  let unwarned: Set<string> | undefined
  return (entity, names) => {
    unwarned ??= new Set(indexes().flatMap(pathsOf).flatMap(withOuter))
    for (const name of names) {
      if (!unwarned.delete(name)) continue
      const missing = indexes().filter((index) =>
        pathsOf(index).some((path) => withOuter(path).includes(name)),
      )
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

/** Returns a path and the paths of its outer objects: `a.b.c`, `a.b` and `a`. */
const withOuter = (path: string): readonly string[] =>
  path.split('.').map((_, i, steps) => steps.slice(0, i + 1).join('.'))
