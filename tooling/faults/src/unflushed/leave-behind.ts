import { isLooseleafError, type Bag } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'

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
