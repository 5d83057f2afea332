/** Normalizes line ends: browsers send CR LF, which `maxlength` counts as one character. */
export function cleanField(text: string): string {
  return text.replace(/\r\n?/g, '\n').toWellFormed()
}
