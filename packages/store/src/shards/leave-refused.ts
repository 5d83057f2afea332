import { isLooseleafError, type Driver, type Shard } from '@looseleaf/core'
import { getOrInsert } from '@looseleaf/core/internal'
import { presentShards, type EngineContext } from '@looseleaf/index-engine/internal'

/** The calls of a process that add one database at present. */
interface Adding {
  calls: number
  isRefused: boolean
}

const addingTo = new WeakMap<Driver, Map<string, Adding>>()

/**
 * Adds a database by `add`. Closes the connections to one that is refused: it may be emptied, or its file replaced, before the next call. Calls
 * for one database share its connections, so the last of them closes these.
 */
export async function leaveRefused<T>(
  { driver }: Pick<EngineContext, 'driver'>,
  { name }: Shard,
  add: () => Promise<T>,
): Promise<T> {
  const byName = getOrInsert(addingTo, driver, () => new Map<string, Adding>())
  const adding = getOrInsert(byName, name, () => ({ calls: 0, isRefused: false }))
  adding.calls++
  try {
    return await add()
  } catch (error) {
    adding.isRefused ||= isLooseleafError(error, 'LAYOUT_MISMATCH')
    throw error
  } finally {
    if (--adding.calls === 0) {
      byName.delete(name)
      const isShard = presentShards(driver).some((shard) => shard.name === name)
      if (adding.isRefused && !isShard) await driver.leave?.(name)
    }
  }
}
