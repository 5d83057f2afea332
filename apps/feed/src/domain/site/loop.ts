/** A loop of this process, such as its cleaner, that can be stopped and started again. */
export interface LoopControl {
  /** Resolves once the loop has ended. */
  stop(): Promise<unknown>
  /** Does nothing once the loop is closed. */
  start(): unknown
}

/** A loop and its end. */
export interface Loop extends LoopControl {
  /** Stops the loop for ever. */
  close(): Promise<void>
}

/** Makes a loop from a function that begins it. It does not run yet. */
export function createLoop(begin: () => { stop(): Promise<unknown> }): Loop {
  let running: { stop(): Promise<unknown> } | undefined
  let isClosed = false

  async function stop(): Promise<void> {
    const stopping = running
    running = undefined
    await stopping?.stop()
  }

  return {
    stop,
    start() {
      if (!isClosed) running ??= begin()
    },
    async close() {
      isClosed = true
      await stop()
    },
  }
}
