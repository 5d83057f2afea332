/** Returns the next turn of work that should not run at the same time, in the order of the calls. */
export type AskTurn = () => Turn

export interface Turn {
  /** True when all turns before it have ended. */
  readonly isMine: boolean
  end(): void
}

export function createTurns(): AskTurn {
  const queue = new Set<Turn>()
  return () => {
    const turn: Turn = {
      get isMine() {
        return queue.values().next().value === turn
      },
      end: () => void queue.delete(turn),
    }
    queue.add(turn)
    return turn
  }
}
