/** Formats a path within a bag for messages: `a.b[1]["two words"]`, or `The bag` for the bag itself. Truncates names to 60 characters. */
export function formatPath(path: readonly (string | number)[]): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[A-Za-z_$][\w$]{0,59}$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(step.toWellFormed().slice(0, 60))}]`
  }
  return text === '' ? 'The bag' : text
}
