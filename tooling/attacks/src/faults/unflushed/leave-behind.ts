import { isLooseleafError, type Bag } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { SEEN_MS, type Verdict } from './experiment.ts'
import { HANGING, holdsWithin, type Ground } from './ground.ts'

/**
 * Sends a put whose caller gives up when `seen` resolves, while the statement stays in flight. This simulates
 * a process that has crashed without its server noticing yet.
 */
export async function leaveBehind(
  store: DataStore,
  bag: Bag,
  id: string,
  seen: () => Promise<unknown>,
): Promise<void> {
  const controller = new AbortController()
  const left = store.put(bag, { id, signal: controller.signal }).then(
    () => undefined,
    (error: unknown) => {
      if (!isLooseleafError(error)) throw error
    },
  )
  await seen()
  controller.abort()
  await left
}

/**
 * Sends such a put for an entity on the shard whose log hangs. Returns the version if other sessions see it.
 */
export async function leaveNewVersion(
  ground: Ground,
  store: DataStore,
  { id, group, first }: { readonly id: string; readonly group: string; readonly first: number },
): Promise<number | undefined> {
  let seen: number | undefined
  await leaveBehind(store, { group }, id, () =>
    holdsWithin(SEEN_MS, async () => {
      const standing = await ground.entity(HANGING, id)
      if (standing !== undefined && standing.version !== first) seen = standing.version
      return seen !== undefined
    }),
  )
  return seen
}

/** Checks whether the new version survived, and whether the committed version has its row. */
export async function judgeNewVersion(
  ground: Ground,
  id: string,
  seen: number | undefined,
  why: string,
): Promise<Verdict & { readonly version: number | undefined }> {
  const standing = await ground.entity(HANGING, id)
  const lacksRow = standing !== undefined && (await ground.stamp(standing.group, id)) === undefined
  return {
    version: standing?.version,
    wasSeen: seen !== undefined,
    wasLost: seen !== undefined && standing?.version !== seen,
    wrongs: lacksRow ? [`the row of what is committed is missing: ${why}`] : [],
  }
}
