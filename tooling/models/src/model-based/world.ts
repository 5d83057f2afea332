import { jsonCodec, jsonZlibCodec, msgpackZlibCodec } from '@looseleaf/codec'
import { isLooseleafError, type Router } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import { withoutPauses } from '@looseleaf/testkit'
import type { Backend, Databases } from './backend.ts'
import { canonical } from './canonical.ts'
import { countingRouter } from './ids.ts'
import { indexesOfOne } from './indexes.ts'
import { NOT_READY_OR_ANSWERED, NOT_READY_OR_BAD } from './oracle.ts'

const SHARDS = 3
const codecs = [msgpackZlibCodec, jsonCodec, jsonZlibCodec] as const

/** The real store of one history, and all its answers. */
export class World {
  readonly backend: string
  readonly trace: string[] = []
  store: DataStore
  readonly #databases: Databases
  readonly #router: Router

  private constructor(backend: string, databases: Databases, router: Router, store: DataStore) {
    this.backend = backend
    this.#databases = databases
    this.#router = router
    this.store = store
  }

  static async create(backend: Backend): Promise<World> {
    const databases = await backend.create(SHARDS)
    const router = countingRouter(SHARDS)
    return new World(backend.name, databases, router, await openStore(databases, router, 0))
  }

  /** Reopens the store with another codec, so that bodies of all three coexist. */
  async restart(codec: number): Promise<void> {
    // Otherwise the cleaner would have to delete lost rows.
    await this.store.settled()
    await this.store.close()
    this.store = await openStore(this.#databases, this.#router, codec)
  }

  async end(): Promise<void> {
    await this.store.close()
    await this.#databases.drop()
  }

  /** Records an answer; throws if the oracle gives another one. */
  compare(command: string, actual: string, expected: string): void {
    this.note(command, actual)
    if (actual === expected) return
    if (
      expected === `error ${NOT_READY_OR_ANSWERED}` &&
      (actual === 'error INDEX_NOT_READY' || !actual.startsWith('error '))
    )
      return
    if (
      expected === `error ${NOT_READY_OR_BAD}` &&
      (actual === 'error INDEX_NOT_READY' || actual === 'error BAD_QUERY')
    )
      return
    this.fail(`${command}\n  answered ${actual}\n  instead of ${expected}`)
  }

  note(command: string, answer: string): void {
    this.trace.push(`${command} -> ${answer}`)
  }

  fail(what: string): never {
    throw new Error(`On ${this.backend}, after ${this.trace.length} steps: ${what}`)
  }
}

/** Returns a call's value, or its error code, as text. */
export async function answerOf(call: () => unknown): Promise<string> {
  try {
    return canonical(await call())
  } catch (error) {
    return errorText(error)
  }
}

export function errorText(error: unknown): string {
  if (isLooseleafError(error)) return `error ${error.code}`
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  if (error instanceof Error && error.name === 'Refusal') return `error ${String(code)}`
  return error instanceof Error ? `not a LooseleafError: ${error.stack}` : `threw ${typeof error}`
}

async function openStore(databases: Databases, router: Router, codec: number): Promise<DataStore> {
  return DataStore.open({
    shards: databases.shards,
    router,
    codec: codecs[codec % codecs.length]!(),
    indexes: indexesOfOne,
    migrate: true,
    onWarning: () => {},
    time: withoutPauses,
  })
}
