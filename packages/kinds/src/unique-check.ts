import { LooseleafError } from '@looseleaf/core'
import { KIND_PROPERTY, type CatalogEntry } from '@looseleaf/core/internal'
import type { IndexDefinition } from '@looseleaf/index-engine'
import { isClaimsOf, isInUse, valuesIn } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import type { Shape } from './shape.ts'

/**
 * Creates a check to call before every write. It makes sure that the store has the unique indexes of a kind, because without one two
 * entities could silently get the same key. The check rejects with
 * - `INDEX_NOT_FOUND` if the store lacks a unique index of the kind,
 * - `INDEX_NOT_READY` if a unique index is not filled while the store still has the same index under a former name of the kind: entities
 *   of the former name may hold keys of which the new index knows nothing.
 *
 * The check returns undefined, without a promise, if this process's catalog has the indexes. Otherwise it reads the catalog again before
 * it rejects.
 */
export function createUniqueCheck(
  store: DataStore,
  shape: Shape,
  definitions: readonly IndexDefinition[],
): () => Promise<void> | undefined {
  const { catalog } = store.context
  const unique = definitions.filter((definition) => definition.unique)
  let checked: readonly CatalogEntry[] | undefined

  /** Checks against this process's copy of the catalog. */
  function problem(): LooseleafError | undefined {
    const { indexes } = catalog.current()
    if (unique.length === 0 || indexes === checked) return undefined
    const inUse = indexes.filter(isInUse)
    const former = inUse.filter((entry) => hasFormerNameOnly(entry, shape))
    for (const definition of unique) {
      const claims = inUse.filter((entry) => isClaimsOf(entry, definition))
      if (claims.length === 0) return notFound(definition)
      if (claims.some(({ state }) => state === 'ready')) continue
      const { name, on } = definition
      if (former.some((entry) => isClaimsOf({ ...entry, name, on }, definition)))
        return notFilled(shape, definition)
    }
    checked = indexes
    return undefined
  }

  /** Checks again after a reload, because another process may have added or filled an index. */
  async function checkAfterReload(): Promise<void> {
    await catalog.reload()
    const error = problem()
    if (error !== undefined) throw error
  }

  return () => (problem() === undefined ? undefined : checkAfterReload())
}

function hasFormerNameOnly({ on = {} }: CatalogEntry, { name, names }: Shape): boolean {
  const kinds = valuesIn(on[KIND_PROPERTY] ?? [])
  return !kinds.includes(name) && names.some((each) => kinds.includes(each))
}

function notFound({ name }: IndexDefinition): LooseleafError {
  return new LooseleafError(
    'INDEX_NOT_FOUND',
    `The store has no unique index ${name}, so nothing was written. Open it with \`indexes: indexesOf(…)\` and \`migrate: true\`, or add it with \`store.addIndex\`.`,
    { index: name },
  )
}

function notFilled({ names }: Shape, { name }: IndexDefinition): LooseleafError {
  const [kind, ...formerly] = names
  return new LooseleafError(
    'INDEX_NOT_READY',
    `The kind ${kind} was formerly ${formerly.join(', ')}, and its unique index ${name} is not filled: entities of that name may hold its keys, so nothing was written. Fill it with \`cleanIndex(store, '${name}')\` or \`looseleaf index add ${name} --fill\`.`,
    { index: name },
  )
}
