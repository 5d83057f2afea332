import { idKey } from '@looseleaf/core/internal'

/**
 * The last states that this process has committed, for writes at a version (`ifVersion`): a program that has just written an entity
 * need not read it again to write it once more. A state is a guess: the entity may have been written by others since, or its commit
 * undone. A writer that builds on it has to let the swap compare the version and the body.
 */
export interface CommittedStates {
  /** Keeps a state if writes at a version came lately. */
  keep(id: Uint8Array, version: number, body: Uint8Array | null): void
  /** Removes the state of an entity, and returns its body if it has this version. */
  take(id: Uint8Array, version: number): Uint8Array | undefined
}

interface CommittedState {
  readonly version: number
  readonly body: Uint8Array
}

const MAX_STATES = 4_096
const MAX_BYTES = 4 * 1024 * 1024
/** Commits that are kept after a write at a version. A program without such writes pays for no memory. */
const KEPT_AFTER_TAKE = 4_096

export function createCommittedStates(): CommittedStates {
  /** By `idKey`, the oldest first. */
  const states = new Map<string, CommittedState>()
  let bytes = 0
  let wanted = 0

  function remove(key: string): CommittedState | undefined {
    const state = states.get(key)
    if (state === undefined) return undefined
    states.delete(key)
    bytes -= state.body.length
    return state
  }

  return {
    keep(id, version, body) {
      if (wanted === 0) return
      wanted--
      const key = idKey(id)
      remove(key)
      if (body === null || body.length > MAX_BYTES / 8) return
      states.set(key, { version, body })
      bytes += body.length
      for (const oldest of states.keys()) {
        if (states.size <= MAX_STATES && bytes <= MAX_BYTES) return
        remove(oldest)
      }
    },
    take(id, version) {
      wanted = KEPT_AFTER_TAKE
      const state = remove(idKey(id))
      return state?.version === version ? state.body : undefined
    },
  }
}
