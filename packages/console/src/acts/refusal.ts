/** Thrown for a request that is not done; the message is for people. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}
