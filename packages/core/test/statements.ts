/** A statement that a lane has sent, and that the test answers when it likes. */
export interface Statement<Item> {
  readonly items: readonly Item[]
  /** Answers each item with itself and `done`. */
  answer(): Promise<void>
  fail(error: unknown): Promise<void>
}

export interface Statements<Item> {
  readonly run: (items: readonly Item[]) => Promise<readonly string[]>
  /** The items of every statement sent so far. */
  readonly sent: readonly (readonly Item[])[]
  /** The one statement in flight. Throws when there is none or more than one: a lane never has two. */
  inFlight(): Promise<Statement<Item>>
  /** Answers every statement until no more come. */
  answerAll(): Promise<void>
}

/** A database for lanes in which nothing happens until the test says so. */
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

/** Until every promise that can settle by itself has done so. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
