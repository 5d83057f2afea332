/** Turns of work that should not run at the same time, in the order in which they were asked for. */
export interface Turns {
  ask(): Turn
}

export interface Turn {
  /** True when all turns before it have ended. */
  readonly isMine: boolean
  end(): void
}

export function createTurns(): Turns {
  const queue = new Set<Turn>()
  return {
    ask() {
      const turn: Turn = {
        get isMine() {
          return queue.values().next().value === turn
        },
        end: () => void queue.delete(turn),
      }
      queue.add(turn)
      return turn
    },
  }
}
