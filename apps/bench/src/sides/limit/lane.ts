interface Waiting<Item, Result> {
  readonly item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Gathers calls into statements, one in flight: all that a statement of many rows needs, and no check of anything. */
export class Lane<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly #most: number
  #waiting: Waiting<Item, Result>[] = []
  #isBusy = false

  constructor(most: number, run: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#most = most
    this.#run = run
  }

  submit(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#isBusy) return
      this.#isBusy = true
      // What other callers ask for in this turn of the event loop goes along.
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
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most)
      try {
        const results = await this.#send(batch.map(({ item }) => item))
        for (let i = 0; i < batch.length; i++) batch[i]?.resolve(results[i] as Result)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      // Whoever was answered asks again in the next turn of the event loop: they go together.
      await turn()
      await turn()
    }
    this.#isBusy = false
  }
}

/** Has undone the whole statement, which may be sent again. */
const isDeadlock = (error: unknown): boolean => (error as { code?: unknown }).code === 'ER_LOCK_DEADLOCK'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
