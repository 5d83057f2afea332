import { Session, type Profiler } from 'node:inspector/promises'

/** Kinds of work that the client's CPU time is divided into. */
export const workNames = [
  'bodies',
  'index engine',
  'store',
  'statements',
  'mysql2',
  'socket',
  'garbage',
  'Node',
  'benchmark',
] as const
export type WorkName = (typeof workNames)[number]
/** Share of each kind of work in the CPU time. The shares add up to 1. */
export type Shares = Readonly<Partial<Record<WorkName, number>>>

const SAMPLE_EVERY_US = 250

/** Runs work under V8's profiler, which slows it down a little. */
export async function profiled<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly shares: Shares }> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US })
    await session.post('Profiler.start')
    const result = await work()
    const { profile } = await session.post('Profiler.stop')
    return { result, shares: sharesOf(profile) }
  } finally {
    session.disconnect()
  }
}

type Frame = Pick<Profiler.ProfileNode, 'callFrame'>

/**
 * Divides a profile's time by the package of the running code. A function without a source is charged to its nearest caller with one. Writes to
 * sockets and the collection of garbage count by themselves, whoever called them.
 */
export function sharesOf({
  nodes,
  samples = [],
  timeDeltas = [],
}: Pick<Profiler.Profile, 'nodes' | 'samples' | 'timeDeltas'>): Shares {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])))
  const names = new Map<number, WorkName | undefined>()
  for (const { id } of nodes) {
    const stack: Frame[] = []
    for (let at: number | undefined = id; at !== undefined; at = callers.get(at)) stack.push(byId.get(at)!)
    names.set(id, workOf(stack))
  }
  const spent = new Map<WorkName, number>()
  let all = 0
  for (const [i, id] of samples.entries()) {
    const name = names.get(id)
    const time = timeDeltas[i] ?? 0
    if (name === undefined) continue
    spent.set(name, (spent.get(name) ?? 0) + time)
    all += time
  }
  return Object.fromEntries(Array.from(spent, ([name, time]) => [name, time / all]))
}

/** Returns the kind of work of a stack, innermost frame first; undefined if the process was idle or busy with the profiler. */
function workOf(stack: readonly Frame[]): WorkName | undefined {
  const { functionName, url } = (stack[0] as Frame).callFrame
  if (functionName === '(garbage collector)') return 'garbage'
  if (functionName === 'writeBuffer' || functionName === 'writev') return 'socket'
  if (['(idle)', '(program)', '(root)'].includes(functionName)) return undefined
  if (url.startsWith('node:inspector')) return undefined
  return nameOf(stack.find(({ callFrame }) => callFrame.url !== '')?.callFrame.url ?? 'node:')
}

const works: Readonly<Record<string, WorkName>> = {
  codec: 'bodies',
  msgpackr: 'bodies',
  'index-engine': 'index engine',
  'driver-kysely': 'statements',
  kysely: 'statements',
  'driver-mysql': 'statements',
  'sql-escaper': 'statements',
  mysql2: 'mysql2',
  'lru.min': 'mysql2',
  'iconv-lite': 'mysql2',
  long: 'mysql2',
  denque: 'mysql2',
  'named-placeholders': 'mysql2',
}

function nameOf(url: string): WorkName {
  if (url.startsWith('node:zlib')) return 'bodies'
  if (url.startsWith('node:')) return 'Node'
  const library = /.*\/node_modules\/([^/]+)\//.exec(url)?.[1]
  const workspace = /\/packages\/([^/]+)\//.exec(url)?.[1]
  if (library !== undefined) return works[library] ?? 'Node'
  return workspace === undefined ? 'benchmark' : (works[workspace] ?? 'store')
}
