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
  /** Names that indexes have, with those of the objects around them, until they were met. Other names, such as keys of records, are without number. */
  let left: Set<string> | undefined
  return (entity, names) => {
    left ??= new Set(indexes().flatMap(pathsOf).flatMap(withOuter))
    for (const name of names) {
      if (!left.delete(name)) continue
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

/** `a.b.c` with `a` and `a.b`. */
const withOuter = (path: string): readonly string[] =>
  path.split('.').map((_, i, steps) => steps.slice(0, i + 1).join('.'))
