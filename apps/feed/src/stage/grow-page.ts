import type { ActContext, ActPage, KnownActs, PlannedAct } from '@looseleaf/console'
import {
  actOrState,
  capital,
  counted,
  markup,
  milliseconds,
  movesSection,
  table,
  type Html,
} from '@looseleaf/console/kit'
import type { DataStore, ListedShard, MoveProgress, MoveReport } from 'looseleaf'
import type { Latencies } from './latency/latencies.ts'
import { latencySection } from './latency/latency-section.ts'
import { messageOf } from '../text/message-of.ts'

export interface GrowPageOptions {
  readonly store: DataStore
  /** Observer of the store. */
  readonly latencies: Latencies
}

/** Acts of which one at a time may run. */
const MOVES: readonly string[] = ['rebalance', 'drain', 'remove']
/** Subjects of the acts. */
const NEW_SHARD = 'a shard'
const ALL_SHARDS = 'the shards'
/** Largest number of shards that the page adds. */
const MOST_SHARDS = 8
/** Time limit for reading the shards and moves, in milliseconds. */
const READ_MS = 2_000

/** Creates the page that adds shards, evens the data over them, and drains and removes them again, while the site is in use. */
export function growPage({ store, latencies }: GrowPageOptions): ActPage {
  let shards: readonly ListedShard[] = []

  async function read(): Promise<readonly MoveReport[]> {
    const signal = AbortSignal.timeout(READ_MS)
    const [listed, moves] = await Promise.all([
      store.shards.list({ signal }),
      store.shards.moves({ signal, finished: true }),
    ])
    shards = listed
    return moves
  }

  /** Renders the buttons; while buckets move, the state of that act in place of the others. */
  function buttons(running: KnownActs['running']): Html {
    const next = nextAddress(shards)
    const moving = running.filter(({ name }) => MOVES.includes(name))
    const acts = moving.length > 0 ? moving.map(({ name, about }) => ({ name, about })) : offeredMoves(shards)
    return markup`<p class="acts">${next === undefined ? undefined : actOrState(running, 'join', NEW_SHARD, addLabel(next), 'A shard is being added')}
${acts.map(({ name, about }) => actOrState(running, name, about, `${capital(name)} ${about}`, `“${name} ${about}” is running`))}</p>`
  }

  const numberOf = (address: string): number | undefined =>
    shards.find((shard) => shard.address === address)?.number

  function plan(name: string, about: string): PlannedAct | undefined {
    if (name === 'join') return about === NEW_SHARD ? { name, about, run: add } : undefined
    if (name === 'rebalance') {
      if (about !== ALL_SHARDS) return undefined
      return {
        name,
        about,
        endLabel: 'Stop',
        run: (act) => walk(act, (options) => store.shards.rebalance(options)),
      }
    }
    const number = numberOf(about)
    if (number === undefined || number === 0) return undefined
    if (name === 'remove')
      return { name, about, run: ({ signal }) => store.shards.remove(number, { signal }) }
    return {
      name,
      about,
      question:
        'All of its buckets move to the other shards, while the site is in use. Afterwards it can be removed.',
      endLabel: 'Stop',
      run: (act) => walk(act, (options) => store.shards.drain(number, options)),
    }
  }

  async function add({ signal, setOutcome }: ActContext): Promise<void> {
    const address = nextAddress(await store.shards.list({ signal }))
    if (address === undefined) throw new Error('This page adds no further shard.')
    const { number } = await store.shards.add(address, { signal })
    setOutcome(`It is shard ${number}, and has no buckets yet.`)
  }

  return {
    name: 'grow',
    label: 'Grow',
    title: 'Grow, live',
    lead: markup`A shard joins while the site is in use, takes a share of the data, and can be drained and removed again. A rebalance evens out the bytes, most of which may be in few of the buckets. Reads go on; a write of a bucket that is just being handed over waits some milliseconds. The plot shows the effect.`,
    suggestion: (address) =>
      markup`<a href="${address}">Grow</a>: add a database, move data to it, and drain it again, while you read and post.`,
    acts: ['join', ...MOVES],
    async part({ isAllowed, running, ended }) {
      const moves = await read().catch(messageOf)
      if (typeof moves === 'string')
        return { body: markup`<p>The shards are unknown: ${moves}</p>`, news: moves }
      const names = shards.map(({ address }) => address)
      const plot = latencySection({ latencies, acts: ended, filled: [], now: Date.now() })
      return {
        body: markup`${shardsTable(shards)}${isAllowed ? buttons(running) : undefined}${moves.length > 0 ? markup`<h2>Moves of buckets</h2>${movesSection(moves, names)}` : undefined}${plot}`,
      }
    },
    plan,
  }
}

/** Returns the address of the next shard, for stores on SQLite, whose shards need no server. */
function nextAddress(shards: readonly ListedShard[]): string | undefined {
  const last = shards.at(-1)
  const match = /^(shard-|memory )\d+(\.sqlite)?$/.exec(last?.address ?? '')
  if (match === null || shards.length >= MOST_SHARDS) return undefined
  return `${match[1]}${shards.length}${match[2] ?? ''}`
}

/** Names the file that is made. A shard in memory has no name that a visitor could look for. */
function addLabel(address: string): string {
  return address.startsWith('memory ') ? 'Add a shard in memory' : `Add ${address}`
}

/** Returns the acts that move buckets, and the removals of drained shards. The first shard stays. */
function offeredMoves(shards: readonly ListedShard[]): readonly { name: string; about: string }[] {
  if (shards.length === 1) return []
  const ofShard = shards.slice(1).flatMap(({ address, state, buckets }) => {
    if (state === 'serving') return [{ name: 'drain', about: address }]
    if (state !== 'draining') return []
    return [{ name: buckets === 0 ? 'remove' : 'drain', about: address }]
  })
  return [{ name: 'rebalance', about: ALL_SHARDS }, ...ofShard]
}

function shardsTable(shards: readonly ListedShard[]): Html {
  const rows = shards.map(({ number, address, state, buckets, error }) => [
    `${number}`,
    address,
    state,
    buckets?.toLocaleString('en-US') ?? '–',
    error?.message ?? '',
  ])
  return table(['shard', 'database', 'state', 'buckets', 'error'], rows, 'Shards of the store')
}

interface Walking {
  readonly signal: AbortSignal
  readonly onProgress: (progress: MoveProgress) => void
}

/** Moves buckets with a progress for the button, and sums up the pauses of all moves. */
async function walk(
  { signal, showProgress, setOutcome }: ActContext,
  move: (options: Walking) => Promise<readonly MoveReport[]>,
): Promise<void> {
  const reports = await move({
    signal,
    onProgress: ({ step, counts, seals }) =>
      showProgress(
        `${step}, ${counted(counts.entities, 'entity', 'entities')} and ${counted(counts.rows + counts.claims, 'index row')} copied${seals.worst === undefined ? '' : `, longest pause ${milliseconds(seals.worst)}`}`,
      ),
  })
  const buckets = reports.reduce((sum, { handedOver }) => sum + handedOver, 0)
  const worst = Math.max(0, ...reports.map(({ seals }) => seals.worst ?? 0))
  setOutcome(
    buckets === 0
      ? 'No bucket had to move.'
      : `${capital(counted(buckets, 'bucket'))} moved. The longest pause of a write was ${milliseconds(worst)}.`,
  )
}
