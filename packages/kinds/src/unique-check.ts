import { KIND_PROPERTY, LooseleafError, type CatalogEntry } from '@looseleaf/core'
import { isClaimsOf, isInUse, valuesIn, type IndexDefinition } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import type { Shape } from './shape.ts'

/**
 * A look before every write at whether the store has the unique indexes of a kind: without one two entities may get one key, and
 * nothing would say so. Rejects with `INDEX_NOT_FOUND`. A kind that was renamed also needs one filled, as long as the store has the same
 * index of a former name: that has kept its keys apart, and knows nothing of the new name. Rejects with `INDEX_NOT_READY` until then.
 * Asks a database only before it rejects; where all is well, as far as this process knows, it answers undefined.
 */
export function createUniqueCheck(
  store: DataStore,
  shape: Shape,
  definitions: readonly IndexDefinition[],
): () => Promise<void> | undefined {
  const { catalog } = store.context
  const unique = definitions.filter((definition) => definition.unique)
  let checked: readonly CatalogEntry[] | undefined

  /** Goes by the catalog that this process has. */
  function problem(): LooseleafError | undefined {
    const { indexes } = catalog.current()
    if (unique.length === 0 || indexes === checked) return undefined
    const inUse = indexes.filter(isInUse)
    const former = inUse.filter((entry) => isOfFormerAlone(entry, shape))
    for (const definition of unique) {
      const claims = inUse.filter((entry) => isClaimsOf(entry, definition))
      if (claims.length === 0) return notThere(definition)
      if (claims.some(({ state }) => state === 'ready')) continue
      const { name, on } = definition
      if (former.some((entry) => isClaimsOf({ ...entry, name, on }, definition)))
        return notFilled(shape, definition)
    }
    checked = indexes
    return undefined
  }

  /** Another process may have added or filled an index since. */
  async function lookAgain(): Promise<void> {
    await catalog.reload()
    const found = problem()
    if (found !== undefined) throw found
  }

  return () => (problem() === undefined ? undefined : lookAgain())
}

function isOfFormerAlone({ on = {} }: CatalogEntry, { name, names }: Shape): boolean {
  const kinds = valuesIn(on[KIND_PROPERTY] ?? [])
  return !kinds.includes(name) && names.some((one) => kinds.includes(one))
}

function notThere({ name }: IndexDefinition): LooseleafError {
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
