/**
 * Result of a step: continue with the next step (undefined), end, wait until the world has changed, or
 * continue at a label.
 */
export type StepResult = undefined | 'end' | 'blocked' | { readonly goto: string }

/** One statement of a process. Atomic, and interleaved with the statements of all other processes. */
export interface Step<World, Local> {
  readonly label: string
  run(world: World, local: Local, process: number): StepResult
}

/** An event that may happen once, at any time when it is possible, such as a late packet or a failover. */
export interface Event<World> {
  readonly label: string
  possible(world: World): boolean
  happen(world: World): void
}

export interface Configuration<World, Local> {
  readonly world: World
  readonly local: () => Local
  readonly processes: readonly (readonly Step<World, Local>[])[]
  readonly events?: readonly Event<World>[]
  /** Number of processes that may crash, at any point. Default: 0. */
  readonly crashes?: number
  /** Checks every state; returns a violation. */
  always?(world: World): string | undefined
  /**
   * Checks the states in which no step is possible any more; returns a violation. `waiting` has the processes
   * that have neither ended nor stopped dead.
   */
  atRest?(world: World, waiting: readonly number[]): string | undefined
}

export interface Exploration {
  readonly states: number
  /** The violation and the steps that led to it; undefined if there was none. */
  readonly violation: { readonly what: string; readonly trace: readonly string[] } | undefined
}

/** A state as texts, which identify it. */
interface Snapshot {
  readonly world: string
  readonly locals: readonly string[]
  /** Step of each process; `DONE` if it has ended or has stopped dead. */
  readonly at: readonly number[]
  readonly crashes: number
  readonly happened: readonly boolean[]
}

interface Trail {
  readonly label: string
  readonly before: Trail | undefined
}

const DONE = -1

/** Visits every reachable state once, depth first. Worlds and locals must be plain data. */
export function explore<World, Local>(configuration: Configuration<World, Local>): Exploration {
  const { processes, events = [] } = configuration
  const seen = new Set<string>()
  const identify = identifier()
  const stack: { state: Snapshot; trail: Trail | undefined }[] = [
    {
      state: {
        world: JSON.stringify(configuration.world),
        locals: processes.map(() => JSON.stringify(configuration.local())),
        at: processes.map(() => 0),
        crashes: configuration.crashes ?? 0,
        happened: events.map(() => false),
      },
      trail: undefined,
    },
  ]
  const violated = (what: string, trail: Trail | undefined): Exploration => ({
    states: seen.size,
    violation: { what, trace: unroll(trail) },
  })

  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { state, trail } = top
    const identity = identify(state)
    if (seen.has(identity)) continue
    seen.add(identity)
    const world = JSON.parse(state.world) as World

    const wrong = configuration.always?.(world)
    if (wrong !== undefined) return violated(wrong, trail)

    let moved = false
    for (const [process, steps] of processes.entries()) {
      const at = state.at[process] as number
      const step = steps[at]
      if (at === DONE || step === undefined) continue
      const next = copyOf(world)
      const local = JSON.parse(state.locals[process] as string) as Local
      const result = step.run(next, local, process)
      if (result === 'blocked') continue
      moved = true
      const goesTo =
        result === 'end' ? DONE : typeof result === 'object' ? indexOf(steps, result.goto) : at + 1
      const isDone = goesTo === DONE || goesTo >= steps.length
      stack.push({
        state: {
          ...state,
          world: JSON.stringify(next),
          // The variables of a process that has ended would tell states apart that behave alike.
          locals: state.locals.with(process, isDone ? 'null' : JSON.stringify(local)),
          at: state.at.with(process, isDone ? DONE : goesTo),
        },
        trail: { label: `P${process} ${step.label}`, before: trail },
      })
      if (state.crashes > 0) {
        stack.push({
          state: {
            ...state,
            locals: state.locals.with(process, 'null'),
            at: state.at.with(process, DONE),
            crashes: state.crashes - 1,
          },
          trail: { label: `P${process} stops dead`, before: trail },
        })
      }
    }
    for (const [number, event] of events.entries()) {
      if (state.happened[number] === true || !event.possible(world)) continue
      const next = copyOf(world)
      event.happen(next)
      stack.push({
        state: { ...state, world: JSON.stringify(next), happened: state.happened.with(number, true) },
        trail: { label: event.label, before: trail },
      })
    }
    if (!moved) {
      const waiting = processes.flatMap((_, process) => (state.at[process] === DONE ? [] : [process]))
      const unfinished = configuration.atRest?.(world, waiting)
      if (unfinished !== undefined) return violated(unfinished, trail)
    }
  }
  return { states: seen.size, violation: undefined }
}

/** Copies plain data, faster than through JSON. */
function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf) as T
  const copy: Record<string, unknown> = {}
  for (const name in value) copy[name] = copyOf(value[name])
  return copy as T
}

/** Returns a function that gives states a short text. Worlds and locals recur in many states, so each gets a number. */
function identifier(): (state: Snapshot) => string {
  const worlds = new Map<string, number>()
  const locals = new Map<string, number>()
  const numberIn = (numbers: Map<string, number>, text: string): number => {
    const known = numbers.get(text)
    if (known !== undefined) return known
    numbers.set(text, numbers.size)
    return numbers.size - 1
  }
  return (state) =>
    [
      numberIn(worlds, state.world),
      ...state.locals.map((local) => numberIn(locals, local)),
      ...state.at,
      state.crashes,
      state.happened.map(Number).join(''),
    ].join(' ')
}

function indexOf(steps: readonly { readonly label: string }[], label: string): number {
  const index = steps.findIndex((step) => step.label === label)
  if (index === -1) throw new Error(`No step is labelled ${label}.`)
  return index
}

function unroll(trail: Trail | undefined): string[] {
  const labels: string[] = []
  for (let at = trail; at !== undefined; at = at.before) labels.push(at.label)
  return labels.toReversed()
}
