import { Session, type Profiler } from 'node:inspector/promises'

/** What a process spends its time on, apart from waiting. */
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
/** By what it was spent on: a share of all that was. */
export type Shares = Readonly<Partial<Record<WorkName, number>>>

const SAMPLE_EVERY_US = 250

/** Does work under V8's profiler, which makes it somewhat slower. */
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

/** By the code that was running; what is V8's or Node's own goes to who called it, where anybody did. */
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

/** Of the running function, with those that led to it behind it; undefined where the process waits, or is being watched. */
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
  const own = /\/packages\/([^/]+)\//.exec(url)?.[1]
  if (library !== undefined) return works[library] ?? 'Node'
  return own === undefined ? 'benchmark' : (works[own] ?? 'store')
}
