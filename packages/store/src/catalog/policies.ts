import { LooseleafError, type CallOptions } from '@looseleaf/core'
import type { ShardCatalog, StorePolicies } from '@looseleaf/core/internal'
import { changeCatalogContents, type EngineContext } from '@looseleaf/index-engine/internal'
import { NOTICE_MS } from './catalog-watch.ts'

export type PolicyChange = { readonly [Name in keyof StorePolicies]?: StorePolicies[Name] | undefined }

/**
 * Sets the policies given to `open` where the store has none yet. Throws `LAYOUT_MISMATCH` if the store has another one. While a shard
 * does not answer, compares and changes nothing, and warns if there was something to do.
 */
export async function agreeOnPolicies(
  context: EngineContext,
  given: PolicyChange,
  onWarning: (message: string) => void,
): Promise<void> {
  const { shards, silent } = context.catalog.current()
  const known = shards.find((shard) => shard !== undefined) as ShardCatalog
  if (silent.length > 0) {
    if (includes(known, given)) return
    onWarning(
      `The given policies are ignored, and those of the store apply: a shard does not answer. ${silent[0]?.message}`,
    )
    return
  }
  requireAgreed(known, given)
  if (!includes(known, given)) await makeChange(context, given, (stored) => requireAgreed(stored, given))
}

/**
 * Changes policies. A policy that is left out or undefined stays. When it resolves, no process commits by the old policies. If it fails, it
 * may have begun; the next change of the catalog, or the next `open`, then finishes it.
 */
export async function changePolicies(
  context: EngineContext,
  policies: PolicyChange,
  options?: CallOptions,
): Promise<void> {
  if (includes({}, policies)) return
  await makeChange(context, policies, () => undefined, options)
}

async function makeChange(
  context: EngineContext,
  policies: PolicyChange,
  check: (stored: StoredPolicies) => void,
  options?: CallOptions,
): Promise<void> {
  if (policies.onIndexFailure === 'defer') await announceDeferring(context, options)
  const changed = await changeCatalogContents(
    context.driver,
    (contents) => {
      check(contents)
      return includes(contents, policies) ? undefined : { ...contents, ...withPolicies(contents, policies) }
    },
    { ...options, holds: (contents) => includes(contents, policies) },
  )
  context.catalog.adopt(changed)
}

function requireAgreed(stored: StoredPolicies, given: PolicyChange): void {
  for (const name of ['deleteDelayMs', 'onIndexFailure'] as const) {
    if (given[name] === undefined || stored[name] === undefined || given[name] === stored[name]) continue
    throw new LooseleafError(
      'LAYOUT_MISMATCH',
      `${name} is ${JSON.stringify(stored[name])} for all processes of this store; got ${JSON.stringify(given[name])}. Leave the option out, or change it with \`store.setPolicies\` or \`looseleaf policies\`.`,
    )
  }
}

type StoredPolicies = Pick<ShardCatalog, 'mayDefer' | keyof StorePolicies>

/** Returns the policies of a catalog after a change; `before` is empty for a new store. */
export function withPolicies(before: StoredPolicies, change: PolicyChange): StoredPolicies {
  return {
    deleteDelayMs: change.deleteDelayMs ?? before.deleteDelayMs,
    onIndexFailure: change.onIndexFailure ?? before.onIndexFailure,
    keepTombstonesMs: change.keepTombstonesMs ?? before.keepTombstonesMs,
    // Stays true for ever, because rows may stay pending for long.
    mayDefer: change.onIndexFailure === 'defer' ? true : before.mayDefer,
  }
}

/** Tells whether a store has every policy that is given. */
function includes(stored: StoredPolicies, given: PolicyChange): boolean {
  return (['deleteDelayMs', 'onIndexFailure', 'keepTombstonesMs'] as const).every(
    (name) => given[name] === undefined || given[name] === stored[name],
  )
}

/**
 * Makes every process look for pending rows. Needed once in the life of a store; one that was made to defer has `mayDefer` from the
 * beginning.
 * 1. Queries look for pending rows only if the catalog has `mayDefer`, so a row deferred earlier would be missed in silence.
 * 2. This writes `mayDefer: false` to all shards, and waits until every process has read it.
 * 3. When it resolves, `mayDefer` may become true, and writers may defer.
 */
async function announceDeferring(
  { driver, catalog, time }: EngineContext,
  options?: CallOptions,
): Promise<void> {
  if (catalog.current().everyoneLooks) return
  await changeCatalogContents(
    driver,
    (contents) => (contents.mayDefer === undefined ? { ...contents, mayDefer: false } : undefined),
    options,
  )
  await time.sleep(NOTICE_MS, options?.signal)
}
