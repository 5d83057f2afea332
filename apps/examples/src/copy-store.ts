import { isLooseleafError, unchanged, type DataStore, type Handler } from 'looseleaf'

/**
 * Returns a handler for `consume` that copies each change into another store. A copy keeps the version of its original as `copied`, so
 * an older change never replaces a newer one. A deleted entity leaves a copy with `isDeleted` and `copied`, because a tombstone could
 * not keep that version.
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
