import { isLooseleafError, type Bag } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { SEEN_MS, type Verdict } from './experiment.ts'
import { HANGING, holdsWithin, type Ground } from './ground.ts'

/**
 * A put whose caller goes away when `seen` resolves, with a statement under way that nobody ends: a process that has died
 * of something else, whose server has not noticed yet.
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

/** Such a put of an entity on the shard whose log hangs. Answers the version that others see, if they see it. */
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

/** What became of a new version of an entity there, and whether what is committed now has its row. */
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
