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
  /** Checks the states in which no step is possible any more; returns a violation. */
  atRest?(world: World): string | undefined
}

export interface Exploration {
  readonly states: number
  /** The violation and the steps that led to it; undefined if there was none. */
  readonly violation: { readonly what: string; readonly trace: readonly string[] } | undefined
}

interface Snapshot<World, Local> {
  readonly world: World
  readonly at: readonly number[]
  readonly locals: readonly Local[]
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
  const stack: { state: Snapshot<World, Local>; trail: Trail | undefined }[] = [
    {
      state: {
        world: configuration.world,
        at: processes.map(() => 0),
        locals: processes.map(() => configuration.local()),
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
    const identity = JSON.stringify(state)
    if (seen.has(identity)) continue
    seen.add(identity)
    // JSON identifies a state because states are plain data. Parsing it is also the fastest way to copy.
    const copy = (): Snapshot<World, Local> => JSON.parse(identity) as Snapshot<World, Local>

    const wrong = configuration.always?.(state.world)
    if (wrong !== undefined) return violated(wrong, trail)

    let moved = false
    for (const [process, steps] of processes.entries()) {
      const at = state.at[process] as number
      const step = steps[at]
      if (at === DONE || step === undefined) continue
      const next = copy()
      const result = step.run(next.world, next.locals[process] as Local, process)
      if (result === 'blocked') continue
      moved = true
      const goesTo =
        result === 'end' ? DONE : typeof result === 'object' ? indexOf(steps, result.goto) : at + 1
      stack.push({
        state: { ...next, at: next.at.with(process, goesTo >= steps.length ? DONE : goesTo) },
        trail: { label: `P${process} ${step.label}`, before: trail },
      })
      if (state.crashes > 0) {
        stack.push({
          state: { ...state, at: state.at.with(process, DONE), crashes: state.crashes - 1 },
          trail: { label: `P${process} stops dead`, before: trail },
        })
      }
    }
    for (const [number, event] of events.entries()) {
      if (state.happened[number] === true || !event.possible(state.world)) continue
      const next = copy()
      event.happen(next.world)
      stack.push({
        state: { ...next, happened: next.happened.with(number, true) },
        trail: { label: event.label, before: trail },
      })
    }
    if (!moved) {
      const unfinished = configuration.atRest?.(state.world)
      if (unfinished !== undefined) return violated(unfinished, trail)
    }
  }
  return { states: seen.size, violation: undefined }
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
