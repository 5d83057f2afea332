import type { EntityId } from '@looseleaf/core'
import type { IndexDefinition } from '@looseleaf/index-engine'

/** `onWarning` of a store's context: the same function for all calls of the store. */
export type OnWarning = (message: string) => void

/** Called for an entity that is read with values which are not stored, from defaults or upgrades. Dots in their names lead into objects. */
export type FillWarning = (entity: EntityId, names: ReadonlySet<string>, onWarning: OnWarning) => void

/**
 * Creates a warning for entities that are read with values which are not stored, from defaults or upgrades, if an index of the kind has
 * the property. The index has the stored values only: a query by the new value misses such an entity until it is written, and a unique
 * index accepts a second entity with its key. Warns once per property and store, by `onWarning` of the store.
 */
export function createFillWarning(kind: string, indexes: () => readonly IndexDefinition[]): FillWarning {
  /** Indexed paths, and the paths of their outer objects, without a warning yet, by store. Bounded, unlike the names of bags, which may be keys of records. */
  const unwarnedOf = new WeakMap<OnWarning, Set<string>>()
  return (entity, names, onWarning) => {
    const unwarned = unwarnedOf.get(onWarning) ?? new Set(indexes().flatMap(pathsOf).flatMap(withOuter))
    unwarnedOf.set(onWarning, unwarned)
    for (const name of names) {
      if (!unwarned.delete(name)) continue
      const missing = indexes().filter((index) =>
        pathsOf(index).some((path) => withOuter(path).includes(name)),
      )
      onWarning(
        `Entities of kind ${kind}, such as ${entity}, are stored without the value of "${name}" that they are read with, which a default or an upgrade gives. Index ${missing.map((index) => index.name).join(', ')} does not have it. To do: run \`looseleaf kind upgrade ${kind}\`, or upgradeKinds(store, [kind]).`,
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
