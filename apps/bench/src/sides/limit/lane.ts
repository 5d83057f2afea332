interface Pending<Item, Result> {
  readonly item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Gathers calls into statements, with one statement in flight. It checks nothing and has no bound for its queue. */
export class Lane<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly #maxItems: number
  #pending: Pending<Item, Result>[] = []
  #isBusy = false

  constructor(maxItems: number, run: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#maxItems = maxItems
    this.#run = run
  }

  submit(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ item, resolve, reject })
      if (this.#isBusy) return
      this.#isBusy = true
      // Calls of the same turn of the event loop join this statement.
      setImmediate(() => void this.#pump())
    })
  }

  async #send(items: readonly Item[]): Promise<readonly Result[]> {
    for (;;) {
      try {
        return await this.#run(items)
      } catch (error) {
        if (!isDeadlock(error)) throw error
      }
    }
  }

  async #pump(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, this.#maxItems)
      try {
        const results = await this.#send(batch.map(({ item }) => item))
        for (let i = 0; i < batch.length; i++) batch[i]?.resolve(results[i] as Result)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      // Callers that were answered together call again within the next two turns, so their calls share a statement.
      await turn()
      await turn()
    }
    this.#isBusy = false
  }
}

/** A deadlock rolls the whole statement back, so it can be sent again. */
const isDeadlock = (error: unknown): boolean => (error as { code?: unknown }).code === 'ER_LOCK_DEADLOCK'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
