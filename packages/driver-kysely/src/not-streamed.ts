/**
 * The `streamQuery` of connections, for nothing is read in a stream. One for all: a generator of its own would be made among V8's old
 * objects for each connection, see decision 47.
 */
// eslint-disable-next-line require-yield -- it has nothing to give
export async function* notStreamed(): AsyncGenerator<never, void, undefined> {
  throw new Error('Results are not streamed.')
}
