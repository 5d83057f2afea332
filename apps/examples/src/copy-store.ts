import { isLooseleafError, unchanged, type DataStore, type Handler } from 'looseleaf'

/**
 * Copies a store into another one, change by change, for `consume`. Each copy has the version that it is of, `copied`, and never goes back. A deleted
 * entity leaves a copy that is empty but for that, since a tombstone would not know it.
 */
export function copyInto(target: DataStore): Handler {
  return async ({ id, version, entity }) => {
    const { id: _, ...bag } = entity ?? { id, isDeleted: true }
    const copy = { ...bag, copied: version }
    try {
      await target.insert(copy, { id })
    } catch (error) {
      if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
      await target.update(id, (known) => (Number(known['copied']) >= version ? unchanged : copy))
    }
  }
}
