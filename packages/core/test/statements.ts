/** A statement in flight that the test answers. */
export interface Statement<Item> {
  readonly items: readonly Item[]
  /** Answers each item with `<item> done`. */
  answer(): Promise<void>
  fail(error: unknown): Promise<void>
}

export interface Statements<Item> {
  readonly run: (items: readonly Item[]) => Promise<readonly string[]>
  /** Items of all statements sent so far. */
  readonly sent: readonly (readonly Item[])[]
  /** Returns the statement in flight. Throws unless there is exactly one, because a lane never has two. */
  inFlight(): Promise<Statement<Item>>
  /** Answers all statements until the lane sends no more. */
  answerAll(): Promise<void>
}

/** Creates a database for lanes whose statements wait for the test. */
export function heldStatements<Item>(): Statements<Item> {
  const sent: (readonly Item[])[] = []
  const open = new Set<Statement<Item>>()

  function run(items: readonly Item[]): Promise<readonly string[]> {
    sent.push(items)
    return new Promise((resolve, reject) => {
      const statement: Statement<Item> = {
        items,
        answer() {
          open.delete(statement)
          resolve(items.map((item) => `${String(item)} done`))
          return turn()
        },
        fail(error) {
          open.delete(statement)
          reject(error)
          return turn()
        },
      }
      open.add(statement)
    })
  }

  return {
    run,
    sent,
    async inFlight() {
      await turn()
      const [statement, ...others] = open
      if (statement === undefined || others.length > 0)
        throw new Error(`${open.size} statements are in flight.`)
      return statement
    },
    async answerAll() {
      await turn()
      for (const statement of open) await statement.answer()
    },
  }
}

/** Resolves in the next turn of the event loop, when all pending microtasks have run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
